// The jobs of the quickstart.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const HERE = new URL('.', import.meta.url);

/** Lines that {@link speedSweep} prints, one for each speed. */
export const SWEPT_SPEEDS = 30;

/** Speeds of the study, in revolutions per minute. */
export const CRANK_SPEEDS = Array.from({ length: 30 }, (_, at) => 600 + 100 * at);

const LEAST_SECONDS_PER_SPEED = 0.5;
const MOST_SECONDS_PER_SPEED = 20;

/** Runs a slider-crank mechanism up to a speed, and draws its motion. */
export async function sliderCrank() {
  return {
    ...(await jobOf('simulate.js', 'report.js')),
    name: 'slider-crank at 1500 rpm',
    variablesToInject: [
      { key: 'crankSpeedRpm', value: '1500' },
      { key: 'simulatedSeconds', value: '5' },
    ],
  };
}

/**
 * Runs the mechanism up in steps.
 *
 * @param {{ simulatedSeconds: number }} options time that is simulated in all, within limits for each speed
 */
export async function speedSweep({ simulatedSeconds }) {
  const perSpeed = simulatedSeconds / SWEPT_SPEEDS;
  const seconds = Math.min(Math.max(perSpeed, LEAST_SECONDS_PER_SPEED), MOST_SECONDS_PER_SPEED);
  return {
    ...(await jobOf('speed-sweep.js')),
    name: 'slider-crank from 600 to 3500 rpm',
    variablesToInject: [{ key: 'secondsPerSpeed', value: seconds.toFixed(2) }],
  };
}

/** Runs the mechanism at one speed after the other, each as a point of a study, and reads the largest acceleration of the piston. */
export async function sliderCrankStudy() {
  return {
    ...(await jobOf('simulate.js')),
    name: 'slider-crank from 600 to 3500 rpm',
    variablesToInject: [{ key: 'simulatedSeconds', value: '2' }],
    variables: [{ name: 'crankSpeedRpm', unit: 'rpm' }],
    plan: { kind: 'GRID', levels: [{ variable: 'crankSpeedRpm', values: CRANK_SPEEDS }] },
    values: [
      {
        name: 'acceleration',
        unit: 'm/s²',
        source: { kind: 'FILE', path: 'motion.csv' },
        reader: { kind: 'CSV', column: 'piston_acceleration_m_s2', take: 'MAX' },
      },
    ],
  };
}

async function jobOf(...scripts) {
  const base64 = async (name) => (await readFile(fileURLToPath(new URL(name, HERE)))).toString('base64');
  return {
    classifiers: [
      { type: 'VERSION', value: '3.*' },
      { type: 'LABLES', value: 'multibody' },
    ],
    inputModel: { type: 'MJCF', content: await base64('slider-crank.xml') },
    inputScripts: await Promise.all(scripts.map(async (name) => ({ content: await base64(name) }))),
  };
}
