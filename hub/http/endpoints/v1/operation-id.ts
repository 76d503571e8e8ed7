/** Operation ids of API versions 1.x. */
import type { ApiVersion } from './present.js';

/** The id of the 2.x operation with the version at its end: `listTasksV11`. */
export function operationIdOf(name: string, apiVersion: ApiVersion): string {
  return `${name}V${apiVersion.replace('.', '')}`;
}
