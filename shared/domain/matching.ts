import type { Requirement } from './classifier.js';
import type { InstanceProfile } from './instance.js';
import { matchesWildcard } from './wildcard.js';

/** True when an instance with this version and these labels satisfies the requirement. */
export function fits(
  requirement: Requirement,
  profile: Pick<InstanceProfile, 'version' | 'labels'>,
): boolean {
  if (requirement.version !== null && !matchesWildcard(requirement.version, profile.version)) return false;
  if (requirement.labels.length === 0) return true;
  const carried = new Set(profile.labels.map((label) => label.toLowerCase()));
  return requirement.labels.every((label) => carried.has(label));
}

/** Number of labels that the task did not ask for: fewer are better. */
export function surplusLabels(requirement: Requirement, profile: Pick<InstanceProfile, 'labels'>): number {
  const carried = new Set(profile.labels.map((label) => label.toLowerCase()));
  return [...carried].filter((label) => !requirement.labels.includes(label)).length;
}
