/** The hub's OpenAPI document, as far as tests read it. */

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

interface Template {
  readonly path: string;
  readonly pattern: RegExp;
}

const templates = new WeakMap<OpenApiDocument, readonly Template[]>();

/** The path template of the document that matches this path; one without parameters has precedence. */
export function templateOf(document: OpenApiDocument, path: string): string | undefined {
  const known = templates.get(document) ?? templatesOf(document);
  templates.set(document, known);
  const matching = known.filter(({ pattern }) => pattern.test(path)).map((template) => template.path);
  return matching.find((template) => !template.includes('{')) ?? matching[0];
}

function templatesOf(document: OpenApiDocument): Template[] {
  return Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll('.', '[.]').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));
}
