/** The hub's OpenAPI document, as far as tests read it. */

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

/** The path template of the document that matches this path; one without parameters has precedence. */
export function templateOf(document: OpenApiDocument, path: string): string | undefined {
  const matching = Object.keys(document.paths).filter((template) =>
    new RegExp(`^${template.replaceAll('.', '[.]').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return matching.find((template) => !template.includes('{')) ?? matching[0];
}
