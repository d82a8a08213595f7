/** Larger bodies are neither looked into for the id of the conversation nor kept. */
const MAX_BODY_BYTES = 1024 * 1024;

/** The body of an inbound request as far as it has come. */
export class ReceivedBody {
  bytes = 0;
  private pieces: Buffer[] = [];

  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (this.bytes <= MAX_BODY_BYTES) this.pieces.push(piece);
    else this.pieces = [];
  }

  /** `undefined` when it is too large. */
  get body(): Buffer | undefined {
    return this.bytes > MAX_BODY_BYTES ? undefined : Buffer.concat(this.pieces);
  }
}
