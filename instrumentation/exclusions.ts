import type { ConfigFile } from './config';
import type { ExchangeStart } from './exchange-observer';

/** Decides which exchanges are recorded at all. */
export interface ExchangeFilter {
  records(info: ExchangeStart): boolean;
}

/** `*` stands for any run of characters; everything else is literal. */
function toPattern(text: string): RegExp {
  return new RegExp(
    `^${text
      .split('*')
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    'i',
  );
}

/**
 * The hosts and routes of `exclude` in the configuration, and the team's own OTLP endpoint: the program's own
 * OpenTelemetry exporter must not fill the recording with its posts.
 */
export function createFilter(file: ConfigFile, ownEndpoint: string | undefined): ExchangeFilter {
  const hosts = (file.exclude?.hosts ?? []).map(toPattern);
  const routes = (file.exclude?.routes ?? []).map(toPattern);
  const own = ownEndpoint !== undefined && URL.canParse(ownEndpoint) ? new URL(ownEndpoint).host : undefined;
  return {
    records(info) {
      if (!URL.canParse(info.url)) return true;
      const url = new URL(info.url);
      if (own !== undefined && url.host === own && url.pathname.startsWith('/v1/'))
        return !/^\/v1\/(traces|metrics|logs)$/.test(url.pathname);
      return !hosts.some((p) => p.test(url.hostname) || p.test(url.host)) && !routes.some((p) => p.test(url.pathname));
    },
  };
}
