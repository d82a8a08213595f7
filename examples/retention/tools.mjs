// The agent's tools: plain functions over the company's systems (here: small tables).
const customers = new Map([
  ['C-1042', { id: 'C-1042', name: 'Ada Holm', plan: 'gold', since: '2019-04-01', zip: '90210', monthly: 49 }],
]);

export async function get_customer({ id }) {
  await new Promise((resolve) => setTimeout(resolve, 20));
  return customers.get(id) ?? { error: 'no such customer' };
}

export async function check_coverage({ zip }) {
  await new Promise((resolve) => setTimeout(resolve, 30));
  return { zip, status: 'degraded', bars: 1, measuredAt: new Date().toISOString(), ticket: null };
}

export async function offer_loyalty_discount({ customer_id, percent }) {
  return { customer_id, percent, offer: `LOYAL-${Math.random().toString(36).slice(2, 8).toUpperCase()}` };
}

export async function flag_coverage_review({ zip, reason }) {
  return { zip, reason, review: `REV-${Math.random().toString(36).slice(2, 8).toUpperCase()}` };
}

export async function cancel_service({ customer_id }) {
  return { customer_id, cancelled: true };
}
