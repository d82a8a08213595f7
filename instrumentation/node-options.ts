/** Adds `--require` of the preload, quoted as Node reads it; a preload named by its package becomes absolute. */
export function withPreload(nodeOptions: string, preloadPath: string): string {
  const own = `--require ${quoted(preloadPath)}`;
  if (nodeOptions.includes(own)) return nodeOptions;
  // A child in another folder would not find the package by its name, and Node would refuse to start.
  const others = nodeOptions
    .replace(/(^|\s)(?:--require|-r|--import)[\s=]+"?reenact\/register"?(?=\s|$)/g, '$1')
    .trim();
  return others === '' ? own : `${own} ${others}`;
}

function quoted(path: string): string {
  return /[\s"\\]/.test(path) ? `"${path.replace(/[\\"]/g, '\\$&')}"` : path;
}
