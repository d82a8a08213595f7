import { ReenactError } from '../../instrumentation/schema/errors';

export interface BackendAddress {
  /** How `--from` names the kind: `jaeger`. */
  readonly kind: string;
  /** For messages: `Jaeger`. */
  readonly title: string;
  readonly url: string;
  /** Shown when the address is none. */
  readonly example: string;
  readonly timeoutMs: number;
}

/** What a backend said. */
export interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly path: string;
}

/** Reads from the HTTP API of one backend. User information in the address becomes basic authentication. */
export class BackendHttp {
  readonly base: string;
  /** The source as a person may see it: without user information. */
  readonly name: string;
  /** Parameters that stand in the address itself, for the source to interpret. */
  readonly parameters: URLSearchParams;
  private readonly headers: Record<string, string>;

  /** @throws ReenactError UNKNOWN_SOURCE */
  constructor(private readonly address: BackendAddress) {
    const { kind, title, url, example } = address;
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new ReenactError('UNKNOWN_SOURCE', `${kind}=${url} is not an HTTP address`, {
        hint: `Give the address of ${title}, for example ${kind}=${example}.`,
      });
    const parsed = new URL(url);
    const credentials = `${decodeURIComponent(parsed.username)}:${decodeURIComponent(parsed.password)}`;
    this.headers = credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
    this.parameters = parsed.searchParams;
    this.base = `${parsed.origin}${parsed.pathname}`.replace(/\/+$/, '');
    this.name = `${kind}=${this.base}${parsed.search}`;
  }

  /** @throws ReenactError SOURCE_UNREACHABLE */
  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    try {
      const response = await fetch(`${this.base}${path}`, {
        headers: { ...this.headers, ...headers },
        signal: AbortSignal.timeout(this.address.timeoutMs),
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      return { status: response.status, bytes, contentType: response.headers.get('content-type') ?? '', path };
    } catch (cause) {
      const reason = (cause as { cause?: Error }).cause?.message || (cause as Error).message;
      const message = `${this.address.title} at ${this.base} does not answer: ${reason}`;
      throw new ReenactError('SOURCE_UNREACHABLE', message, { cause });
    }
  }

  /** The content type says nothing: several backends send JSON as plain text. @throws ReenactError SOURCE_REFUSED */
  json({ bytes, path }: Answer): unknown {
    try {
      return JSON.parse(bytes.toString('utf8'));
    } catch (cause) {
      const message = `${this.base}${withoutQuery(path)} answered something other than JSON`;
      throw new ReenactError('SOURCE_REFUSED', message, { cause });
    }
  }

  refused({ status, bytes, path }: Answer): ReenactError {
    const said = JSON.stringify(bytes.toString('utf8').slice(0, 200));
    return new ReenactError('SOURCE_REFUSED', `${this.base}${withoutQuery(path)} answered ${status}: ${said}`);
  }
}

const withoutQuery = (path: string): string => path.split('?', 1)[0] ?? path;
