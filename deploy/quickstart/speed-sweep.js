// Script of the job during which the quickstart kills a hub: runs the slider-crank mechanism up in steps of 100 rpm, holds
// each speed, and writes:
//   speed-sweep.csv  largest acceleration of the piston at each speed, and that of theory at constant speed
// Variable of the job: secondsPerSpeed.

const fs = require('node:fs');

const holdSeconds = Number(globalThis.secondsPerSpeed);
if (!(holdSeconds >= 0.5 && holdSeconds <= 60))
  throw new Error(
    `variable secondsPerSpeed must be a number from 0.5 to 60, not ${globalThis.secondsPerSpeed}`,
  );

const FIRST_RPM = 600;
const LAST_RPM = 3500;
const STEP_RPM = 100;

// Proportional-integral controller of the motor, limited to its torque.
const PROPORTIONAL_GAIN = 4; // N m s/rad
const INTEGRAL_GAIN = 10; // N m/rad
const MAX_TORQUE = 60; // N m
/** Steps between two readings of the acceleration. */
const READING_STEPS = 5;

const dt = model.opt.timestep;
const crankRadius = model.body('rod').pos[2];
const rodLength = model.body('piston').pos[2] - crankRadius;
const [crank, , slider] = [0, 1, 2]; // joints in model order, one coordinate each

let missingAngle = 0; // of the controller, rad
const rows = ['speed_rpm,reached_rpm,piston_acceleration_m_s2,theory_m_s2'];

for (let rpm = FIRST_RPM; rpm <= LAST_RPM; rpm += STEP_RPM) {
  const target = (rpm * 2 * Math.PI) / 60;
  const { reachedRpm, acceleration } = hold(target);
  const theory = crankRadius * target ** 2 * (1 + crankRadius / rodLength);
  rows.push([rpm, reachedRpm.toFixed(1), acceleration.toFixed(1), theory.toFixed(1)].join(','));
  println(
    `${String(rpm).padStart(5)} rpm   piston acceleration up to ${acceleration.toFixed(0).padStart(5)} m/s²`,
  );
}
fs.writeFileSync('speed-sweep.csv', `${rows.join('\n')}\n`);

/** Drives the crank at a speed, in rad/s; the second half of the time is measured. */
function hold(target) {
  const steps = Math.round(holdSeconds / dt);
  const firstMeasured = Math.ceil(steps / 2);
  let acceleration = 0;
  let angleBefore = 0;
  for (let step = 0; step < steps; step++) {
    if (step === firstMeasured) angleBefore = data.qpos[crank];
    const missingSpeed = target - data.qvel[crank];
    const wanted = PROPORTIONAL_GAIN * missingSpeed + INTEGRAL_GAIN * missingAngle;
    const torque = Math.max(-MAX_TORQUE, Math.min(MAX_TORQUE, wanted));
    // No integration while the torque is limited: it would cause overshoot.
    if (torque === wanted) missingAngle += missingSpeed * dt;
    data.ctrl[0] = torque;
    mujoco.mj_step(model, data);
    if (step < firstMeasured || step % READING_STEPS !== 0) continue;
    mujoco.mj_forward(model, data);
    acceleration = Math.max(acceleration, Math.abs(data.qacc[slider]));
  }
  const measuredSeconds = (steps - firstMeasured) * dt;
  const meanSpeed = (data.qpos[crank] - angleBefore) / measuredSeconds;
  return { reachedRpm: (meanSpeed * 60) / (2 * Math.PI), acceleration };
}
