import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS, ReenactError } from '../../../instrumentation/schema/errors';

describe('errors', () => {
  it('have a code, a message, a hint and a cause', () => {
    const cause = new Error('why');
    const error = new ReenactError('LOG_EMPTY', 'x holds no log', { cause });
    expect(error).toMatchObject({ name: 'ReenactError', code: 'LOG_EMPTY', message: 'x holds no log', cause });
    expect(error.hint).toBe(ERRORS.LOG_EMPTY);
    expect(error).toBeInstanceOf(Error);
  });

  it('of a second copy of the package are instances too', () => {
    let other = ReenactError;
    jest.isolateModules(() => {
      other = jest.requireActual<{ ReenactError: typeof ReenactError }>('../../../instrumentation/schema/errors').ReenactError; // prettier-ignore
    });
    expect(other).not.toBe(ReenactError);
    expect(new other('USAGE', 'x')).toBeInstanceOf(ReenactError);
    expect(new Error('x')).not.toBeInstanceOf(ReenactError);
    expect(null).not.toBeInstanceOf(ReenactError);
  });

  it('are all in the reference, and none else', () => {
    const page = readFileSync(join(__dirname, '../../../docs/reference/errors.md'), 'utf8');
    const documented = [...page.matchAll(/^\| `([A-Z_]+)`/gm)].map((match) => match[1]);
    expect(documented.sort()).toEqual(Object.keys(ERRORS).sort());
  });
});
