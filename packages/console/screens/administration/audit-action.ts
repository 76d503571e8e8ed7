import type { api } from '@workbench-hub/client';

/** The action of an entry as it is shown: the method of an endpoint and the path as it was called, a command as it was given, or the name of
 *  any other action. */
export function actionOf({ action, resource }: Pick<api.AuditEntry, 'action' | 'resource'>): string {
  if (action === 'COMMAND') return resource;
  return action.includes(' ') ? `${action.slice(0, action.indexOf(' '))} ${resource}` : action;
}
