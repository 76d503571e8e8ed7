/** A model in front of a camera that is turned around it. */
import {
  AmbientLight,
  Box3,
  type BufferGeometry,
  DirectionalLight,
  Mesh,
  type Object3D,
  PerspectiveCamera,
  Points,
  Scene,
  Sphere,
  Spherical,
  Vector3,
  WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';

const HEIGHT = 420;
const FIELD_OF_VIEW = 35;

export interface SolidFacts {
  readonly triangles: number;
  readonly points: number;
  /** Width, depth and height in the units of the model. */
  readonly extent: readonly [number, number, number];
}

export class SolidStage {
  readonly facts: SolidFacts;
  readonly #renderer: WebGLRenderer;
  readonly #scene = new Scene();
  readonly #camera = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 100);
  readonly #controls: OrbitControls;
  readonly #sphere: Sphere;
  readonly #watching: ResizeObserver;

  /** Throws RangeError for a model without points, and what the browser throws without WebGL. */
  constructor(place: HTMLElement, model: Object3D, onLost: () => void) {
    const box = new Box3().setFromObject(model);
    if (box.isEmpty() || !Number.isFinite(box.getSize(new Vector3()).length()))
      throw new RangeError('the model has no points');
    this.facts = factsOf(model, box);
    this.#sphere = box.getBoundingSphere(new Sphere());
    this.#renderer = new WebGLRenderer({ antialias: true, alpha: true });
    const { domElement } = this.#renderer;
    domElement.addEventListener('webglcontextlost', onLost);
    place.append(domElement);
    const light = new DirectionalLight(0xffffff, 2.8);
    light.position.set(-0.9, 1.2, 0.8);
    this.#camera.add(light);
    this.#scene.add(model, this.#camera, new AmbientLight(0xffffff, 0.8));
    this.#controls = new OrbitControls(this.#camera, domElement);
    this.#controls.addEventListener('change', () => this.#draw());
    this.#watching = new ResizeObserver(() => this.#resize(place.clientWidth));
    this.#watching.observe(place);
    this.#resize(place.clientWidth);
    this.showAll();
  }

  /** Shows the whole model from its front, a little from above. */
  showAll(): void {
    const { center, radius } = this.#sphere;
    const distance = (Math.max(radius, 1e-9) / Math.sin((FIELD_OF_VIEW * Math.PI) / 360)) * 1.05;
    this.#controls.target.copy(center);
    this.#camera.position.set(0.55, 0.5, 1).normalize().multiplyScalar(distance).add(center);
    this.#camera.near = distance / 1000;
    this.#camera.far = distance * 100;
    this.#camera.updateProjectionMatrix();
    this.#controls.update();
    this.#draw();
  }

  /** Turns the camera around the model, in radians. */
  turn(aroundUp: number, upwards: number): void {
    this.#place((place) => {
      place.theta += aroundUp;
      place.phi -= upwards;
    });
  }

  /** Brings the camera nearer by a factor below 1, farther by one above it. */
  zoom(factor: number): void {
    this.#place((place) => {
      place.radius *= factor;
    });
  }

  close(): void {
    this.#watching.disconnect();
    this.#controls.dispose();
    this.#scene.traverse((object) => {
      if (object instanceof Mesh || object instanceof Points) (object.geometry as BufferGeometry).dispose();
    });
    this.#renderer.dispose();
    this.#renderer.domElement.remove();
  }

  #place(change: (place: Spherical) => void): void {
    const { target } = this.#controls;
    const place = new Spherical().setFromVector3(this.#camera.position.clone().sub(target));
    change(place);
    this.#camera.position.setFromSpherical(place.makeSafe()).add(target);
    this.#controls.update();
    this.#draw();
  }

  #resize(width: number): void {
    if (width === 0) return;
    this.#renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.#renderer.setSize(width, HEIGHT);
    this.#camera.aspect = width / HEIGHT;
    this.#camera.updateProjectionMatrix();
    this.#draw();
  }

  #draw(): void {
    this.#renderer.render(this.#scene, this.#camera);
  }
}

function factsOf(model: Object3D, box: Box3): SolidFacts {
  let triangles = 0;
  let points = 0;
  model.traverse((object) => {
    if (!(object instanceof Mesh || object instanceof Points)) return;
    const { index, attributes } = object.geometry as BufferGeometry;
    const count = attributes['position']?.count ?? 0;
    if (object instanceof Points) points += count;
    else triangles += Math.floor((index?.count ?? count) / 3);
  });
  const { x, y, z } = box.getSize(new Vector3());
  return { triangles, points, extent: [x, y, z] };
}
