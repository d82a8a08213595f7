import type { Socket } from 'node:net';

export interface Timers {
  readonly setTimeout: typeof setTimeout;
  readonly clearTimeout: typeof clearTimeout;
}

/** The idle timeout of one virtual socket, on the timers of the replay instead of Node's internal ones. */
export class SocketTimeout {
  #timer: NodeJS.Timeout | undefined;
  readonly #socket: Socket;
  readonly #timers: Timers;

  constructor(socket: Socket, timers: Timers) {
    this.#socket = socket;
    this.#timers = timers;
  }

  /** `Socket#setTimeout`: the socket emits `timeout` after so long without traffic. */
  set(ms: number): void {
    this.clear();
    if (ms > 0) {
      this.#timer = this.#timers.setTimeout(() => this.#socket.emit('timeout'), ms);

      // As in Node, an idle timeout never keeps the process alive.
      this.#timer.unref?.();
    }
  }

  /** Traffic: the time counts from here. */
  refresh(): void {
    this.#timer?.refresh();
  }

  clear(): void {
    if (this.#timer !== undefined) this.#timers.clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
