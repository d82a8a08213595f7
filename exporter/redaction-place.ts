/** Where a text stands, for a custom redaction function. */
export interface Place {
  readonly place: 'request' | 'response' | 'tool' | 'argv' | 'attribute';
}
