import { patch, undoPatches } from '../../instrumentation/patches';

describe('patches', () => {
  afterEach(undoPatches);

  it('keep descriptor, name, length and own properties, and can be undone', () => {
    const original = Object.assign(function own(a: number, b: number): number { return a - b }, { custom: 7 }); // prettier-ignore
    const target = Object.defineProperty({} as { f: typeof original }, 'f', { value: original, writable: true, configurable: true, enumerable: false }); // prettier-ignore
    expect(patch(target, 'f', () => ((): number => 2) as unknown as typeof original)).toBe(true);
    expect([target.f(5, 4), target.f.name, target.f.length, target.f.custom]).toEqual([2, 'own', 2, 7]);
    expect(Object.keys(target)).toEqual([]);
    undoPatches();
    expect(target.f).toBe(original);
  });

  it('leave what cannot be replaced', () => {
    const target = Object.freeze({ f: (): number => 1 });
    expect(patch(target, 'f', () => () => 2)).toBe(false);
    expect(target.f()).toBe(1);
  });

  it('undo twice replaced properties, and those that were inherited', () => {
    class Base {
      f(): number {
        return 1;
      }
    }
    const target = new Base();
    patch(target, 'f', () => () => 2);
    patch(target, 'f', () => () => 3);
    expect(target.f()).toBe(3);
    undoPatches();
    expect([target.f(), Object.hasOwn(target, 'f')]).toEqual([1, false]);
  });
});
