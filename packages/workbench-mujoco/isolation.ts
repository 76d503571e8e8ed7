import vm from 'node:vm';

/** Ways to keep the jobs of an instance apart; packages/docs/mujoco.md has the differences. */
export type Isolation = 'thread' | 'realm' | 'none';

/** Node.js 21 and 22.0 to 22.7 cannot make a realm with an ordinary global object. */
const HAS_REALMS = 'DONT_CONTEXTIFY' in vm.constants;

/** The isolations that this version of Node.js allows. */
export const ISOLATIONS: readonly Isolation[] = HAS_REALMS ? ['thread', 'realm', 'none'] : ['thread', 'none'];

export const DEFAULT_ISOLATION: Isolation = HAS_REALMS ? 'realm' : 'thread';
