/** Requests of an upstream about instances that are lent to it, and about hosts that it wants. */
import type { WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';
import type { HubRequest, Reply } from '@workbench-hub/shared/joining/ports/hub';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import type { RecipeCapacity } from '../hosts/recipe-capacity.js';
import type { UpstreamWishes } from '../hosts/upstream-wishes.js';
import type { InstanceControl } from '../instances/instance-control.js';
import type { LendingAudit } from './lending-audit.js';
import type { UpstreamSettings } from './lending-settings.js';
import type { LentInstances } from './lent-instances.js';
import { lentRecipes, wantedWithin } from './lent-recipes.js';

export interface UpstreamRequestsOptions {
  readonly settings: Pick<UpstreamSettings, 'name' | 'lend'>;
  readonly lent: Pick<LentInstances, 'localIdOf' | 'isOpen' | 'room'>;
  readonly control: InstanceControl;
  readonly recipeCapacity: Pick<RecipeCapacity, 'all'>;
  readonly upstreamWishes: Pick<UpstreamWishes, 'set'>;
  readonly audit: LendingAudit;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A request about one instance. */
type InstanceRequest = Extract<HubRequest, { readonly instanceId: string }>;

/** Requests that are carried out at a time. */
const MAX_REQUESTS = 100;

const refusal = (error: string): Reply => ({ error, text: null });

export class UpstreamRequests {
  readonly #options: UpstreamRequestsOptions;
  #count = 0;

  constructor(options: UpstreamRequestsOptions) {
    this.#options = options;
  }

  /** Carries a request out; what fails is said in the reply. Never rejects. */
  async reply(request: HubRequest): Promise<Reply> {
    if (this.#count >= MAX_REQUESTS)
      return refusal(`the hub carries out ${MAX_REQUESTS} requests at a time: try again`);
    this.#count++;
    try {
      return await this.#carryOut(request);
    } finally {
      this.#count--;
    }
  }

  async #carryOut(request: HubRequest): Promise<Reply> {
    if (request.kind === 'bringHosts') return this.#bringHosts(request.wanted);
    if (request.kind === 'stopAfter') return refusal('a hub does not stop by itself');
    if (!('instanceId' in request)) return refusal('a hub is not updated by another one');
    const { lent, log } = this.#options;
    const instanceId = lent.localIdOf(request.instanceId);
    if (instanceId === undefined) return refusal(`instance ${request.instanceId} is not lent any more`);
    try {
      return await this.#askInstance(instanceId, request);
    } catch (error) {
      if (error instanceof HubError) return refusal(error.message);
      log.error({ err: error, instanceId }, 'a request of an upstream failed');
      return refusal('the hub that lends the instance failed to carry this out');
    }
  }

  async #askInstance(instanceId: string, request: InstanceRequest): Promise<Reply> {
    const { control, audit, settings } = this.#options;
    if (request.kind === 'instanceLog') {
      const { text, offset } = await control.log(instanceId, request.logType);
      return { error: null, text, ...(offset === null ? {} : { offset }) };
    }
    if (request.kind === 'instanceCrashes')
      return { error: null, text: null, crashes: await control.crashes(instanceId) };
    // The upstream itself asks where it names no user.
    const { command, asker = { hub: settings.name, user: null } } = request;
    const resource = `${command} ${instanceId}`;
    await control.command(instanceId, command, asker).catch((error: unknown) => {
      audit('LENT_INSTANCE_COMMAND', resource, asker, messageOf(error));
      throw error;
    });
    audit('LENT_INSTANCE_COMMAND', resource, asker);
    return { error: null, text: null };
  }

  /** Takes what the upstream wants of the recipes that are lent, and answers what they can bring. */
  async #bringHosts(wanted: readonly WantedInstances[] | undefined): Promise<Reply> {
    const { recipeCapacity, upstreamWishes, clock, settings, lent, log } = this.#options;
    const { name, lend } = settings;
    try {
      const spare = await recipeCapacity.all();
      const { isOpen, room } = lent;
      const recipes = lentRecipes(lend, spare, { isOpen, room, nowMs: clock.nowMs() });
      if (wanted) upstreamWishes.set(name, wantedWithin(wanted, recipes, room));
      return { error: null, text: null, recipes };
    } catch (error) {
      log.error({ err: error }, 'the recipes of this hub could not be told');
      return refusal('the hub that lends hosts cannot tell its recipes now');
    }
  }
}
