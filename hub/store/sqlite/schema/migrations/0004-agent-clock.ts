/** Lead of an agent's clock over the hub's when it joined; null when it did not send its time. */
export const agentClock = 'ALTER TABLE agent ADD COLUMN clock_offset_ms INTEGER;';
