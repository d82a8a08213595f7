/** Version of the recording format; docs/reference/recording-format.md lists what each brought. */
export const FORMAT_VERSION = '1';

/** Versions this package replays, each under the rules it was recorded with. */
export const READABLE_FORMAT_VERSIONS: readonly string[] = ['1'];
