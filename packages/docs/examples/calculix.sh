# Runs a CalculiX model of type INP; ccx takes the name of its input without .inp.
set -e
cp "$WORKBENCH_MODEL" beam.inp
OMP_NUM_THREADS=1 ccx beam
rm beam.inp
echo "tip displacement [mm]:" && tail -n 1 beam.dat
