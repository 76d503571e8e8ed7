/** Parses messages of the link by their schemas; unknown fields are dropped. */
import type { z } from 'zod';
import { ValidationError } from '../validation-error.js';
import { type AgentMessage, agentMessage, type HubMessage, hubMessage } from './messages.js';

/** Parses a message of a hub. Throws {@link ValidationError}. */
export function parseHubMessage(value: unknown): HubMessage {
  return readAs(hubMessage, value);
}

/** Parses a message of an agent. Throws {@link ValidationError}. */
export function parseAgentMessage(value: unknown): AgentMessage {
  return readAs(agentMessage, value);
}

function readAs<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new ValidationError(issue?.path.join('.') ?? '', issue?.message ?? 'Invalid input');
}
