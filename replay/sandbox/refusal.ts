/** Told of everything that the sandbox refuses. */
export interface SandboxReport {
  blocked(what: string, hint: string): void;
  /** Whether the running code is the replayed program's; all code of the process without it. */
  applies?(): boolean;
}

/** The error that a program sees, in the shape of Node's own system errors. */
export function refusal(syscall: string, what: string, path?: string): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(
    `EACCES: permission denied, ${what} (blocked by reenact: a replay makes no such call)`,
  );
  error.code = 'EACCES';
  error.errno = -13;
  error.syscall = syscall;
  if (path !== undefined) error.path = path;
  return error;
}
