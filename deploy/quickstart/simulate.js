// First script of the job: runs the slider-crank mechanism up to a speed, holds it there, and writes:
//   motion.csv          crank and piston, every 0.5 ms
//   energy-balance.csv  work of the motor and where it goes, every 5 ms
//   summary.json        key figures and their deviation from theory
// Variables of the job: crankSpeedRpm (revolutions per minute), simulatedSeconds.

const fs = require('node:fs');

const targetSpeed = (readVariable('crankSpeedRpm', 100, 6000) * 2 * Math.PI) / 60; // rad/s
const endTime = readVariable('simulatedSeconds', 0.1, 600); // s

// Proportional-integral controller of the motor, limited to its torque.
const PROPORTIONAL_GAIN = 4; // N m s/rad
const INTEGRAL_GAIN = 10; // N m/rad
const MAX_TORQUE = 60; // N m
const MOTION_INTERVAL = 5e-4; // s
const ENERGY_INTERVAL = 5e-3; // s

const dt = model.opt.timestep;
const crankRadius = model.body('rod').pos[2];
const topPosition = model.body('piston').pos[2]; // height of the piston pin above the crank axis
const rodLength = topPosition - crankRadius;
const [crank, , slider] = [0, 1, 2]; // joints in model order, one coordinate each
const damping = [...model.dof_damping];

const motion = [
  'time_s,crank_angle_deg,crank_speed_rpm,piston_position_m,piston_velocity_m_s,piston_acceleration_m_s2',
];
const energy = ['time_s,kinetic_J,potential_J,work_put_in_J,dissipated_J,residual_J'];

let missingAngle = 0; // of the controller, rad
let workPutIn = 0; // by the motor, J
let dissipated = 0; // in the bearings and the oil film, J
let maxPositionError = 0; // against the theory, m
let maxResidual = 0; // of the energy balance, J

mujoco.mj_forward(model, data);
const initialEnergy = data.energy[0] + data.energy[1];
let power = dissipatedPower();

const steps = Math.round(endTime / dt);
const motionSteps = Math.round(MOTION_INTERVAL / dt);
const energySteps = Math.round(ENERGY_INTERVAL / dt);
const started = Date.now();
let reported = 0;
record(0);

for (let step = 1; step <= steps; step++) {
  const missingSpeed = targetSpeed - data.qvel[crank];
  const wanted = PROPORTIONAL_GAIN * missingSpeed + INTEGRAL_GAIN * missingAngle;
  const torque = clamp(wanted, MAX_TORQUE);
  // No integration while the torque is limited: it would cause overshoot.
  if (torque === wanted) missingAngle += missingSpeed * dt;
  const angleBefore = data.qpos[crank];
  data.ctrl[0] = torque;
  mujoco.mj_step(model, data);
  // mj_step leaves forces, accelerations and energies of the step's beginning; mj_forward updates them.
  mujoco.mj_forward(model, data);

  workPutIn += torque * (data.qpos[crank] - angleBefore); // exact: the torque is constant during a step
  const powerNow = dissipatedPower();
  dissipated += ((power + powerNow) / 2) * dt;
  power = powerNow;
  record(step);

  const tenths = Math.floor((10 * step) / steps);
  if (tenths > reported) {
    reported = tenths;
    const speed = rpm(data.qvel[crank]).toFixed(0).padStart(5);
    println(`${(10 * tenths).toString().padStart(3)} %   t = ${data.time.toFixed(2)} s   ${speed} rpm`);
  }
}

fs.writeFileSync('motion.csv', `${motion.join('\n')}\n`);
fs.writeFileSync('energy-balance.csv', `${energy.join('\n')}\n`);
const summary = {
  crankSpeedRpm: rpm(targetSpeed),
  simulatedSeconds: endTime,
  crankRadius_m: crankRadius,
  rodLength_m: rodLength,
  steps,
  finalSpeed_rpm: rpm(data.qvel[crank]),
  revolutions: data.qpos[crank] / (2 * Math.PI),
  maxPositionError_m: maxPositionError,
  workPutIn_J: workPutIn,
  dissipated_J: dissipated,
  kinetic_J: data.energy[1],
  maxEnergyResidual_J: maxResidual,
  maxEnergyResidualOfWork: maxResidual / workPutIn,
};
fs.writeFileSync('summary.json', `${JSON.stringify(summary, null, 2)}\n`);
println(`simulated ${endTime} s in ${((Date.now() - started) / 1000).toFixed(1)} s`);
println(`largest distance from the exact kinematics: ${(1e6 * maxPositionError).toPrecision(2)} um`);
println(
  `largest residual of the energy balance: ${(100 * summary.maxEnergyResidualOfWork).toPrecision(2)} % of the work`,
);

/** Piston pin above the crank axis: x = r cos(a) + sqrt(l^2 - r^2 sin^2(a)). */
function exactPosition(angle) {
  const offset = crankRadius * Math.sin(angle);
  return crankRadius * Math.cos(angle) + Math.sqrt(rodLength ** 2 - offset ** 2);
}

function record(step) {
  const position = topPosition + data.qpos[slider];
  const angle = data.qpos[crank];
  maxPositionError = Math.max(maxPositionError, Math.abs(position - exactPosition(angle)));
  const [potential, kinetic] = data.energy;
  const residual = kinetic + potential - initialEnergy - workPutIn + dissipated;
  maxResidual = Math.max(maxResidual, Math.abs(residual));
  const time = (step * dt).toFixed(4);
  if (step % motionSteps === 0) {
    const row = [
      (angle * 180) / Math.PI,
      rpm(data.qvel[crank]),
      position,
      data.qvel[slider],
      data.qacc[slider],
    ];
    motion.push([time, ...row.map(significant)].join(','));
  }
  if (step % energySteps === 0) {
    const row = [kinetic, potential - initialEnergy, workPutIn, dissipated, residual];
    energy.push([time, ...row.map(significant)].join(','));
  }
}

function dissipatedPower() {
  return damping.reduce((sum, coefficient, joint) => sum + coefficient * data.qvel[joint] ** 2, 0);
}

function rpm(speed) {
  return (speed * 60) / (2 * Math.PI);
}

function clamp(value, limit) {
  return Math.max(-limit, Math.min(limit, value));
}

function significant(value) {
  return Number(value.toPrecision(9)).toString();
}

/** Value of a job variable, which is text, as a number within its limits. */
function readVariable(name, least, most) {
  const value = Number(globalThis[name]);
  if (globalThis[name] === undefined || !(value >= least && value <= most)) {
    throw new Error(`variable ${name} must be a number from ${least} to ${most}, not ${globalThis[name]}`);
  }
  return value;
}
