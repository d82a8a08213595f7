import { patch, replaceProperty } from '../patches';
import type { ClockSource } from './clock-source';

/**
 * Gives `Intl.DateTimeFormat` the program's time where no date is passed.
 *
 * What: the `format` getter and `formatToParts`. Why here: they read the engine's clock below `Date`. What breaks when
 * it goes wrong: formatting without an argument; with one, the original is called as it was.
 */
export function installIntl(source: ClockSource): void {
  const prototype = Intl.DateTimeFormat.prototype;
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'format');
  const get = descriptor?.get;
  if (get !== undefined && descriptor?.configurable === true) {
    const bound = new WeakMap<Intl.DateTimeFormat, Intl.DateTimeFormat['format']>();
    replaceProperty(prototype, 'format', {
      ...descriptor,
      get(this: Intl.DateTimeFormat) {
        const known = bound.get(this);
        if (known !== undefined) return known;
        const format = get.call(this) as Intl.DateTimeFormat['format'];
        const own: Intl.DateTimeFormat['format'] = (date) => format(date === undefined ? source.date() : date);
        bound.set(this, own);
        return own;
      },
    });
  }
  patch(
    prototype,
    'formatToParts',
    (original) =>
      function formatToParts(this: Intl.DateTimeFormat, date) {
        return original.call(this, date === undefined ? source.date() : date);
      } as Intl.DateTimeFormat['formatToParts'],
  );
}
