export function webglPainter() {
  return null;
}
