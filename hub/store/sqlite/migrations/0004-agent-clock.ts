/** How far the clock of an agent was ahead of the hub's when it joined; unknown for those that do not tell. */
export const agentClock = 'ALTER TABLE agent ADD COLUMN clock_offset_ms INTEGER;';
