/** Agent as a child process of the hub whose own instances it holds (`instances` in the hub's configuration). */
import { describeIssue } from '@workbench-hub/shared/config/validation-errors';
import { z } from 'zod';
import { type AgentConfig, agentConfigSchema } from '../config.js';

/** First message of the hub: the agent's configuration, with the credential that nobody else sees. */
const startMessage = z.object({ config: z.record(z.string(), z.unknown()) });

const PARENT_GONE = 'the hub that started this agent has ended or closed the channel';

/** Configuration from the hub, and a signal that aborts when the hub goes; or validation errors. */
export type ManagedStart =
  | { readonly config: AgentConfig; readonly hubGone: AbortSignal }
  | { readonly faults: readonly string[] };

/** Waits for the configuration on the channel of a forked process. */
export async function startOfManaged(): Promise<ManagedStart> {
  if (!process.connected)
    return { faults: ['--managed is for a hub that starts this program; start it with --config instead'] };
  const gone = new AbortController();
  process.once('disconnect', () => gone.abort(PARENT_GONE));
  const message = await new Promise<unknown>((resolve) => {
    process.once('message', resolve);
    gone.signal.addEventListener('abort', () => resolve(null), { once: true });
  });
  const start = startMessage.safeParse(message);
  if (!start.success) return { faults: [PARENT_GONE] };
  const parsed = agentConfigSchema.safeParse(start.data.config);
  if (parsed.success) return { config: parsed.data, hubGone: gone.signal };
  const faults = parsed.error.issues.flatMap((issue) =>
    describeIssue(issue, start.data.config, agentConfigSchema).map(
      ({ text }) => `configuration from the hub: ${text}`,
    ),
  );
  return { faults };
}
