import type { OpenApiDocument } from './openapi-check.js';

/** The path template of the document that matches this path; one without parameters has precedence. */
export function templateOf(document: OpenApiDocument, path: string): string | undefined {
  const matching = Object.keys(document.paths).filter((template) =>
    new RegExp(`^${template.replaceAll('.', '[.]').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return matching.find((template) => !template.includes('{')) ?? matching[0];
}
