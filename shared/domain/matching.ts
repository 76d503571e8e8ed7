import type { Requirement } from './classifier.js';
import type { InstanceProfile, JobKind } from './instance.js';
import { matchesWildcard } from './wildcard.js';

/** True when an instance with this version, these labels and this kind of jobs satisfies the requirement. */
export function fits(
  requirement: Requirement,
  profile: Pick<InstanceProfile, 'version' | 'labels' | 'runs'>,
): boolean {
  // Its instance is not looked for.
  if (requirement.instanceId !== undefined) return false;
  if (requirement.version !== null && !matchesWildcard(requirement.version, profile.version)) return false;
  if (requirement.modelType !== undefined && !readsModels(profile.runs, requirement.modelType)) return false;
  if (requirement.points && profile.runs?.points !== true) return false;
  if (requirement.labels.length === 0) return true;
  const carried = carriedLabels(profile);
  return requirement.labels.every((label) => carried.has(label));
}

/** False when a program that runs this kind of jobs says that it reads models, but none of this type. */
export function readsModels(runs: JobKind | undefined, modelType: string): boolean {
  return runs?.models === undefined || runs.models.includes(modelType);
}

/** Labels of an instance in lower case, as requirements have them. */
export function carriedLabels({ labels }: Pick<InstanceProfile, 'labels'>): ReadonlySet<string> {
  return new Set(labels.map((label) => label.toLowerCase()));
}

/** Number of labels that the task did not ask for: fewer are better. */
export function surplusLabels(requirement: Requirement, profile: Pick<InstanceProfile, 'labels'>): number {
  return [...carriedLabels(profile)].filter((label) => !requirement.labels.includes(label)).length;
}
