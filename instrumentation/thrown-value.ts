import type { RecordedError } from './schema/records';

/** What was thrown, as a turn shows it: programs also throw strings and plain objects. */
export function describeThrown(thrown: unknown): RecordedError {
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) {
    const { name, message, code } = thrown as { name?: unknown; message: unknown; code?: unknown };
    return {
      name: typeof name === 'string' && name !== '' ? name : 'Error',
      message: String(message),
      ...(typeof code === 'string' && { code }),
    };
  }
  return { name: 'Thrown', message: typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? 'undefined') };
}

/**
 * The body of an error answer, out of the error an SDK made of it: Anthropic's SDK keeps the whole body, OpenAI's only
 * what stood under `error`.
 */
export function errorBody(thrown: unknown): Record<string, unknown> {
  const described = describeThrown(thrown);
  const body = (thrown as { error?: unknown } | null | undefined)?.error;
  if (typeof body !== 'object' || body === null) return { error: described };
  return 'error' in body ? { ...body } : { error: body };
}

/** The HTTP status an SDK's error tells of. */
export function statusOf(thrown: unknown): number | undefined {
  const status = (thrown as { status?: unknown } | null | undefined)?.status;
  return Number.isSafeInteger(status) ? (status as number) : undefined;
}
