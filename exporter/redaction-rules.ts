/** Start of a secret: not in the middle of a word or of base64. */
const START = '(?<![A-Za-z0-9_+/-])';

/** Shapes of credentials in any text. All are ASCII, so they may be looked for in the bytes of any encoding. */
const SHAPES: readonly string[] = [
  `${START}sk-[A-Za-z0-9_-]{20,}`,
  `${START}[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`,
  `${START}AIza[A-Za-z0-9_-]{35}`,
  `${START}gh[pousr]_[A-Za-z0-9]{36,}`,
  `${START}github_pat_[A-Za-z0-9_]{22,}`,
  `${START}glpat-[A-Za-z0-9_-]{20,}`,
  `${START}npm_[A-Za-z0-9]{36}`,
  `${START}hf_[A-Za-z0-9]{30,}`,
  `${START}gsk_[A-Za-z0-9]{40,}`,
  `${START}xai-[A-Za-z0-9]{40,}`,
  `${START}xox[abeprs]-[A-Za-z0-9-]{10,}`,
  `${START}(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])`,
  `${START}eyJ[A-Za-z0-9_-]{8,}\\.eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}`,
  '-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\\s\\S]{0,8000}?-----END [A-Z ]{0,30}PRIVATE KEY-----',
  '(?<=[Bb]earer )[A-Za-z0-9._~+/-]{20,}={0,2}',
];

/** One look that is enough for almost every body. */
export const MAY_HOLD_SECRET =
  /sk-|[rs]k_|AIza|gh[pousr]_|github_pat_|glpat-|npm_|hf_|gsk_|xai-|xox[abeprs]-|AKIA|ASIA|eyJ|PRIVATE KEY|earer /;

/** The shapes as one expression; a new object each time, since expressions with `g` hold a position. */
export const secretShapes = (): RegExp => new RegExp(SHAPES.join('|'), 'g');

const KEY_WORDS = '(?:api|access|auth|account|subscription|secret|private|signing|license|session)';

/** Names of headers whose values are credentials. */
export const CREDENTIAL_HEADER = new RegExp(
  `^(?:authorization|proxy-authorization|cookie|set-cookie|.*${KEY_WORDS}[-_]?key|.*[-_](?:token|secret|password|credential|signature)|token|secret|x-amz-.*(?:token|signature))$`,
  'i',
);

/** Names of query parameters that hold keys. */
export const KEY_PARAMETER = new RegExp(
  `^(?:.*${KEY_WORDS}[-_]?key|secret|password|passwd|.*[-_](?:secret|password))$`,
  'i',
);

/** Names of query parameters that hold keys or tokens when their value is long; `key` may be any key. */
export const TOKEN_PARAMETER =
  /^(?:key|sig|signature|token|code|assertion|.*[-_](?:token|signature|credential)|[a-z]+(?:Token|Secret|Password))$/;

/** Names of parameters that page through results: programs get them from an answer and send them back. */
export const PAGE_PARAMETER = /page|next|continu|cursor|sync|offset|start/i;

/** Names of JSON fields and form fields whose text is a credential wherever it stands. */
export const CREDENTIAL_FIELD =
  /^(?:password|passwd|secret|client[-_]?secret|api[-_]?key|access[-_]?token|refresh[-_]?token|id[-_]?token|private[-_]?key|secret[-_]?access[-_]?key|session[-_]?token|authorization|assertion)$/i;

/**
 * Such fields within any body, in JSON that is itself a text of JSON too (a tool's result in a message). Only names that
 * never mean anything else: what a model writes must come through.
 */
export const CREDENTIAL_IN_BODY =
  /((\\*)"(?:password|passwd|client[-_]?secret|api[-_]?key|access[-_]?token|refresh[-_]?token|id[-_]?token|private[-_]?key|secret[-_]?access[-_]?key|session[-_]?token)\2"\s*:\s*\2")([^"\\\s]{8,4000})(?=\2")/gi;

/** Paths of endpoints that hand out tokens. */
export const TOKEN_ENDPOINT = /\/(?:oauth2?|oidc|token|tokens|login|signin|auth|authorize|connect)(?:\/|$|\?)/i;

/** Ids and signatures of provider protocols, which programs send back unchanged: custom patterns leave them alone. */
export const PROTOCOL_IDS =
  /(?<![A-Za-z0-9_-])(?:call_|toolu_|srvtoolu_|msg_|chatcmpl-|resp_|rs_|fc_|run_|req_|file-|batch_)[A-Za-z0-9_-]{6,}|"(?:signature|thought_signature|thoughtSignature|encrypted_content|data)"\s*:\s*"[A-Za-z0-9+/=_-]{32,}"/g;

/** `--api-key=VALUE` and its like. */
export const SECRET_OPTION = /^(--?[\w-]*(?:key|token|secret|password|credential)[\w-]*)=(.+)$/i;
/** `--api-key`, whose value is the next argument. */
export const SECRET_OPTION_NAME = /^--?[\w-]*(?:api-?key|token|secret|password|credential)$/i;
