import { describe, expect, it } from 'vitest';
import { ANYBODY, type Caller, creatorOf, holdsRole, ROLES, type Role, refuseForeignTask } from './access.js';

const caller = (username: string, ...roles: Role[]): Caller => ({ username, roles, by: 'SESSION' });

describe('a role', () => {
  it('includes the lesser ones', () => {
    const allowed = ROLES.map((held) => ROLES.filter((asked) => holdsRole(caller('anna', held), asked)));
    expect(allowed).toEqual([['VIEWER'], ['VIEWER', 'USER'], ['VIEWER', 'USER', 'ADMIN']]);
  });

  it('is required', () => {
    expect(ROLES.some((role) => holdsRole(caller('anna'), role))).toBe(false);
  });

  it('counts even if its holder also has lesser ones', () => {
    expect(holdsRole(caller('anna', 'VIEWER', 'ADMIN'), 'USER')).toBe(true);
  });
});

describe('a task', () => {
  const task = { id: '1', creator: 'anna' };

  it('may be changed by its creator and by an ADMIN', () => {
    refuseForeignTask(caller('anna', 'USER'), task);
    refuseForeignTask(caller('berta', 'ADMIN'), task);
    refuseForeignTask(ANYBODY, task);
    expect(() => refuseForeignTask(caller('berta', 'USER'), task)).toThrow(/task 1 is not yours/);
  });

  it('belongs to no user when security was off at its creation', () => {
    expect(() => refuseForeignTask(caller('anna', 'USER'), { id: '1', creator: null })).toThrow(/not yours/);
  });

  it('carries the name of its creator only while security is on', () => {
    expect(creatorOf(caller('anna', 'USER'))).toBe('anna');
    expect(creatorOf(ANYBODY)).toBeNull();
  });
});
