/** `gen_ai.provider.name` by the end of the host name; the names are those of the semantic conventions where they have one. */
const HOSTS: readonly (readonly [suffix: string, name: string])[] = [
  ['api.openai.com', 'openai'],
  ['anthropic.com', 'anthropic'],
  ['openai.azure.com', 'azure.ai.openai'],
  ['cognitiveservices.azure.com', 'azure.ai.openai'],
  ['services.ai.azure.com', 'azure.ai.inference'],
  ['models.ai.azure.com', 'azure.ai.inference'],
  ['inference.ai.azure.com', 'azure.ai.inference'],
  ['groq.com', 'groq'],
  ['mistral.ai', 'mistral_ai'],
  ['deepseek.com', 'deepseek'],
  ['perplexity.ai', 'perplexity'],
  ['x.ai', 'x_ai'],
  ['moonshot.ai', 'moonshot_ai'],
  ['moonshot.cn', 'moonshot_ai'],
  ['cohere.com', 'cohere'],
  ['cohere.ai', 'cohere'],
  ['generativelanguage.googleapis.com', 'gcp.gemini'],
  ['aiplatform.googleapis.com', 'gcp.vertex_ai'],
  ['ml.cloud.ibm.com', 'ibm.watsonx.ai'],
  ['openrouter.ai', 'openrouter'],
  ['together.ai', 'together'],
  ['together.xyz', 'together'],
  ['fireworks.ai', 'fireworks'],
  ['cerebras.ai', 'cerebras'],
];

/** Names the provider behind a URL; a host of one's own is named by the wire format it speaks. */
export function providerNameOf(url: URL, format: string): string {
  const host = url.hostname.toLowerCase();
  if (/^bedrock[\w-]*\..*amazonaws\.com$/.test(host)) return 'aws.bedrock';
  const known = HOSTS.find(([suffix]) => host === suffix || host.endsWith(`.${suffix}`));
  return known?.[1] ?? format;
}
