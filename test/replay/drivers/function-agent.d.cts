declare function makeAgent(
  api: object,
  options: { sdk: string; Client: unknown; base: string; stream: boolean; ran?: (name: string) => void },
): { converse(): Promise<string>; inSession(): Promise<string> };
export = makeAgent;
