// What the model is told of the tools, in JSON Schema.
const text = { type: 'string' };
const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });

export const definitions = [
  { name: 'get_customer', description: 'Looks a customer up', parameters: object({ id: text }) },
  { name: 'check_coverage', description: 'Network coverage at a place', parameters: object({ zip: text }) },
  {
    name: 'offer_loyalty_discount',
    description: 'Offers a discount',
    parameters: object({ customer_id: text, percent: { type: 'number' } }),
  },
  {
    name: 'flag_coverage_review',
    description: 'Asks the network team to look at a place',
    parameters: object({ zip: text, reason: text }),
  },
  { name: 'cancel_service', description: 'Ends the contract', parameters: object({ customer_id: text }) },
];
