import { expect, it } from 'vitest';
import { actionOf } from './audit-action.js';

it('shows a command as it was given, and a request with the path as it was called', () => {
  const shown = (action: string, resource: string) => actionOf({ action, resource });
  expect(shown('COMMAND', 'workbench-hub restore hub.tar')).toBe('workbench-hub restore hub.tar');
  expect(shown('DELETE /api/x/tokens/{id}', '/api/x/tokens/7')).toBe('DELETE /api/x/tokens/7');
  expect(shown('AGENT_JOIN', 'sim-host-1')).toBe('AGENT_JOIN');
});
