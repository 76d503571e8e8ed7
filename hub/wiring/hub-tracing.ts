/** Traces of requests and tasks, if the configuration wants them. */
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { OnStop } from '@workbench-hub/shared/runtime/service';
import { NO_TRACING, type Tracing } from '../core/ports/tracing.js';
import type { Setup } from './setup.js';

export async function openTracing({ config, runtime, log }: Setup, onStop: OnStop): Promise<Tracing> {
  const { endpoint } = config.tracing;
  if (endpoint === null) return NO_TRACING;
  // Loaded on demand, for it takes time and memory.
  const { hubTracing } = await import('../tracing/hub-tracing.js');
  const { version } = buildInfo;
  const tracing = hubTracing({ config: { ...config.tracing, endpoint }, version, runtime, log });
  onStop(() => tracing.close());
  return tracing;
}
