/** Agent as a child process of the hub whose own instances it holds (`instances` in the hub's configuration). */
import { describeIssue } from '@workbench-hub/shared/config/validation-errors';
import { LOG_LEVELS, type LogLevel } from '@workbench-hub/shared/runtime/logger';
import { z } from 'zod';
import { type AgentConfig, agentConfigSchema } from '../config.js';

/** First message of the hub: the agent's configuration, with the credential that nobody else sees. */
const startMessage = z.object({ config: z.record(z.string(), z.unknown()) });

const PARENT_GONE = 'the hub that started this agent has ended or closed the channel';

/** Later message of the hub: the level of the log has changed. */
const levelMessage = z.object({ logLevel: z.enum(LOG_LEVELS) });

/** Configuration from the hub, a signal that aborts when the hub goes, and its later log levels; or validation errors. */
export type ManagedStart =
  | {
      readonly config: AgentConfig;
      readonly hubGone: AbortSignal;
      readonly onLogLevel: (take: (level: LogLevel) => void) => void;
    }
  | { readonly faults: readonly string[] };

/** Waits for the configuration on the channel of a forked process. */
export async function startOfManaged(): Promise<ManagedStart> {
  if (!process.connected)
    return { faults: ['--managed is for a hub that starts this program; start it with --config instead'] };
  const onLogLevel = receiveLogLevels();
  const gone = new AbortController();
  process.once('disconnect', () => gone.abort(PARENT_GONE));
  const message = await new Promise<unknown>((resolve) => {
    process.once('message', resolve);
    gone.signal.addEventListener('abort', () => resolve(null), { once: true });
  });
  const start = startMessage.safeParse(message);
  if (!start.success) return { faults: [PARENT_GONE] };
  const parsed = agentConfigSchema.safeParse(start.data.config);
  if (parsed.success) return { config: parsed.data, hubGone: gone.signal, onLogLevel };
  const faults = parsed.error.issues.flatMap((issue) =>
    describeIssue(issue, start.data.config, agentConfigSchema).map(
      ({ text }) => `configuration from the hub: ${text}`,
    ),
  );
  return { faults };
}

/** Takes the log levels that the hub tells from now on, and passes them on as soon as they can be applied. */
function receiveLogLevels() {
  let latest: LogLevel | undefined;
  let pass: ((level: LogLevel) => void) | undefined;
  process.on('message', (message) => {
    const told = levelMessage.safeParse(message);
    if (!told.success) return;
    latest = told.data.logLevel;
    pass?.(latest);
  });
  return (take: (level: LogLevel) => void) => {
    pass = take;
    if (latest !== undefined) take(latest);
  };
}
