/** Labels of the system of a host, which a configuration may give to all its instances. */
import type { z } from 'zod';
import { contradictsPlatform, installationOn, platformLabels } from '../domain/installation.js';
import { type ConfiguredInstance, MAX_LABELS } from './instances.js';

const THIS_SYSTEM = installationOn(null, process);

/** Labels of an instance with those of this system last, each once. */
export function withPlatformLabels(labels: readonly string[]): readonly string[] {
  const own = platformLabels(THIS_SYSTEM);
  return [...labels.filter((label) => !own.includes(label.toLowerCase())), ...own];
}

/** Refuses labels that contradict those of this system, or leave no room for them. */
export function checkPlatformLabels(
  instances: readonly ConfiguredInstance[],
  context: z.RefinementCtx,
): void {
  const own = platformLabels(THIS_SYSTEM);
  for (const [index, { labels }] of instances.entries()) {
    const path = ['instances', index, 'labels'];
    if (withPlatformLabels(labels).length > MAX_LABELS)
      context.addIssue({
        code: 'custom',
        path,
        message: `at most ${MAX_LABELS} with those of platformLabels`,
      });
    for (const [at, label] of labels.entries()) {
      if (!contradictsPlatform(label, THIS_SYSTEM)) continue;
      const message = `with platformLabels, no label that begins with os: or arch: but ${own.join(' and ')}`;
      context.addIssue({ code: 'custom', path: [...path, at], message });
    }
  }
}
