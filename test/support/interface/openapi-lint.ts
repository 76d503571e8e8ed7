/** Validation of an OpenAPI document by Redocly, with its recommended lint rules. */
import { createConfig, lintFromString } from '@redocly/openapi-core';

/** All errors and warnings, as `rule: message (pointer)`. */
export async function lintProblems(document: unknown): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'] });
  const source = JSON.stringify(document, null, 1);
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  return problems.map(
    ({ ruleId, message, location: [place] }) => `${ruleId}: ${message} (${place?.pointer ?? ''})`,
  );
}
