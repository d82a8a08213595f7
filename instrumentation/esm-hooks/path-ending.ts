/** Whole names only: `undici/index.js` is not the end of `my-undici/index.js`. */
export function pathEnding(ending: string): string {
  return ending.startsWith('/') ? ending : `/${ending}`;
}
