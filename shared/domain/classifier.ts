import { DEFAULT_PRIORITY, PRIORITIES, type Priority } from './priority.js';
import { MAX_PATTERN_LENGTH } from './wildcard.js';

/** The contract spells it LABLES; LABELS is accepted on input (contract 1.6). */
export const CLASSIFIER_TYPES = ['VERSION', 'PRIORITY', 'LABLES'] as const;
export type ClassifierType = (typeof CLASSIFIER_TYPES)[number];

/** A classifier as clients write and read it. */
export interface Classifier {
  readonly type: ClassifierType;
  readonly value: string;
}

/** Requirement of a task in canonical form: tasks with the same requirement wait in the same queue group. */
export interface Requirement {
  /** Version with the wildcards `*` and `?`; null for any. */
  readonly version: string | null;
  /** Labels in lower case, sorted, without duplicates. */
  readonly labels: readonly string[];
  /** Type of the job's model, in upper case; absent without one. */
  readonly modelType?: string | undefined;
  /** Instance that alone may run the task; absent for any. Only loans have it. */
  readonly instanceId?: string | undefined;
  /** True for a bundle of points, which not every program runs; absent otherwise. */
  readonly points?: true | undefined;
}

export interface ClassifierError {
  /** Index in the list. */
  readonly index: number;
  readonly member: 'type' | 'value';
  readonly message: string;
}

export interface Classification {
  readonly requirement: Requirement;
  readonly priority: Priority;
  readonly errors: readonly ClassifierError[];
}

/** Limits of an instance's labels. */
const MAX_LABELS = 200;
const MAX_LABEL_LENGTH = 200;

/** Parses a task's classifiers. Each type at most once, except that several LABLES add up (contract 2.2). */
export function classify(classifiers: readonly Classifier[], defaultVersion: string | null): Classification {
  const errors: ClassifierError[] = [];
  const labels = new Set<string>();
  const seen = new Set<ClassifierType>();
  let version = defaultVersion;
  let priority = DEFAULT_PRIORITY;

  for (const [index, { type, value }] of classifiers.entries()) {
    if (type !== 'LABLES' && seen.has(type)) {
      errors.push({ index, member: 'type', message: `${type} is given more than once` });
    }
    seen.add(type);
    const refuse = (message: string) => errors.push({ index, member: 'value', message });
    if (type === 'VERSION') {
      version = parseVersion(value, refuse);
    } else if (type === 'PRIORITY') {
      priority = parsePriority(value, priority, refuse);
    } else {
      for (const label of parseLabels(value, refuse)) labels.add(label);
      if (labels.size > MAX_LABELS) {
        refuse(`must not name more than ${MAX_LABELS} labels in all`);
        break;
      }
    }
  }
  return { requirement: { version, labels: [...labels].sort() }, priority, errors };
}

/** Takes what is wrong with a value. */
type Refuse = (message: string) => void;

function parseVersion(text: string, refuse: Refuse): string {
  const version = text.trim();
  if (version === '') refuse('must name a version');
  if (version.length > MAX_PATTERN_LENGTH) {
    refuse(`a version must have at most ${MAX_PATTERN_LENGTH} characters`);
  }
  return version;
}

function parsePriority(text: string, otherwise: Priority, refuse: Refuse): Priority {
  const priority = PRIORITIES.find((candidate) => candidate === text.trim().toUpperCase());
  if (!priority) refuse(`must be one of ${PRIORITIES.join(', ')}`);
  return priority ?? otherwise;
}

/** Labels of a comma-separated list, in lower case; empty ones are dropped. */
function parseLabels(text: string, refuse: Refuse): string[] {
  const labels = text
    .split(',')
    .map((label) => label.trim().toLowerCase())
    .filter((label) => label !== '');
  if (labels.length === 0) refuse('must name at least one label');
  if (labels.some((label) => label.length > MAX_LABEL_LENGTH)) {
    refuse(`a label must have at most ${MAX_LABEL_LENGTH} characters`);
  }
  return labels;
}

/** Key of a requirement: equal requirements have equal keys, whatever the order and case of the client's text. */
export function requirementKey({ version, labels, modelType, instanceId, points }: Requirement): string {
  if (points) return JSON.stringify([version, labels, modelType ?? null, instanceId ?? null, 'POINTS']);
  if (instanceId !== undefined) return JSON.stringify([version, labels, modelType ?? null, instanceId]);
  return JSON.stringify(modelType === undefined ? [version, labels] : [version, labels, modelType]);
}

/** Requirement of a key made by {@link requirementKey}. */
export function requirementOfKey(key: string): Requirement {
  const [version, labels, modelType, instanceId, points] = JSON.parse(key) as [
    string | null,
    string[],
    (string | null)?,
    (string | null)?,
    'POINTS'?,
  ];
  return {
    version,
    labels,
    ...(typeof modelType === 'string' ? { modelType } : {}),
    ...(typeof instanceId === 'string' ? { instanceId } : {}),
    ...(points === undefined ? {} : { points: true }),
  };
}

/** The requirement of a job with a model of this type; null for none. */
export function withModelType(requirement: Requirement, modelType: string | null): Requirement {
  return modelType === null ? requirement : { ...requirement, modelType };
}
