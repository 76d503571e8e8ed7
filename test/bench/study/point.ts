/** Simulation of the study: a double pendulum that is let go from a different angle at each point. */

export const MODEL = `<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body pos="0 0 2">
      <joint type="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/>
      <body pos="0 0 -0.5">
        <joint type="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/>
      </body>
    </body>
  </worldbody>
</mujoco>
`;

export const STEPS = 100;

/** Angle of the first joint at this point, in radians. */
export function angleAt(point: number): string {
  return (0.1 + point / 1000).toString();
}
