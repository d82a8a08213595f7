/** Bodies that `fetch` was given, by which the request is known even when no connection ever comes about. */
export interface PendingBody {
  take(): unknown;
}
