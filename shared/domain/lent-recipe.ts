/** Recipes of hosts that a joined hub lends, and the instances of their hosts that its upstream wants (decision 0099). */
import type { Requirement } from './classifier.js';
import type { InstanceProfile } from './instance.js';

/**
 * Reasons why a recipe brings no more hosts for a task. PAUSED: by an administrator. UNREACHABLE: its workload manager does not answer. FAILED_STARTS:
 * the latest starts have failed, and the next try is later. MAX_ALLOCATIONS, HOST_HOURS: a bound is reached. USER_ALLOCATIONS,
 * USER_HOST_HOURS: the user of the task has reached a bound. TIME: its hosts have too little time for the task.
 */
export const RECIPE_OBSTACLES = [
  'PAUSED',
  'UNREACHABLE',
  'FAILED_STARTS',
  'MAX_ALLOCATIONS',
  'HOST_HOURS',
  'USER_ALLOCATIONS',
  'USER_HOST_HOURS',
  'TIME',
] as const;
export type RecipeObstacle = (typeof RECIPE_OBSTACLES)[number];

/** Maximum number of recipes that a hub lends. */
export const MAX_LENT_RECIPES = 200;

/** Maximum number of wishes for instances in a request. */
export const MAX_WANTED = 200;

/** Maximum number of classes of instances that the hosts of a lent recipe have. */
export const MAX_CLASSES_OF_HOST = 100;

/** Maximum length of the name of a lent recipe, with the ids of the hubs below. */
export const MAX_RECIPE_NAME_LENGTH = 1600;

/** Lent instances of one class that each host of a recipe has. */
export interface LentInstancesOfHost extends Pick<InstanceProfile, 'version' | 'labels' | 'runs'> {
  readonly count: number;
}

/** A recipe as the hub that lends it describes it. Times are relative, since clocks differ. */
export interface LentRecipe {
  /** Name of a recipe of a hub below: its agent id, a colon and its name there. */
  readonly name: string;
  readonly instances: readonly LentInstancesOfHost[];
  /** Time that a fresh host has for tasks. */
  readonly usableMs: number;
  /** Number of hosts that are coming or may come, and that the lending hub does not need itself. */
  readonly free: number;
  /** Number of those that were asked for and have not joined. */
  readonly coming: number;
  /** Number of hosts that have joined and are not over, whoever uses them. */
  readonly joined: number;
  /** Time since the first of those that are coming was asked for; null without any. */
  readonly comingForMs: number | null;
  /** Time until it is expected to join; null when that is not known. */
  readonly expectedInMs: number | null;
  readonly obstacle: RecipeObstacle | null;
  /** Time until the next try after failed starts; null without any. */
  readonly nextTryInMs: number | null;
}

/** Instances that an upstream wants of the hosts of one recipe, for its tasks of one requirement. */
export interface WantedInstances {
  /** Name of the recipe at the lending hub. */
  readonly recipe: string;
  readonly requirement: Omit<Requirement, 'instanceId'>;
  readonly count: number;
}
