// Throws the ball at 20 m/s; `angle` above the ground and `aim` to the side, in degrees. The farthest throw is at 45 and 0.
const [up, side] = [Number(angle), Number(aim)].map((degrees) => (degrees * Math.PI) / 180);
data.qvel[0] = 20 * Math.cos(up) * Math.cos(side);
data.qvel[1] = 20 * Math.cos(up) * Math.sin(side);
data.qvel[2] = 20 * Math.sin(up);
let before;
do {
  before = [data.qpos[0], data.qpos[2]];
  mujoco.mj_step(model, data);
} while (data.qpos[2] > 0);
const share = before[1] / (before[1] - data.qpos[2]);
const range = before[0] + share * (data.qpos[0] - before[0]);
println('range', range.toFixed(3), 'm');
writeFile('throw.json', JSON.stringify({ range, seconds: data.time }));
