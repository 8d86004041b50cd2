# Settings of your site. Every script of this folder reads this file inside the job; set it up once.
# A job inherits the shell that submits it: where `python -m gsr.islands --help` works there, 1 and 2 may stay as they are.
# shellcheck shell=bash disable=SC2034

# 1. Modules: Python, and an MPI for mpi4py.
# module purge
# module load python openmpi

# 2. The environment with gsr and mpi4py.
# source "$HOME/venvs/gsr/bin/activate"

# 3. The program. Ranks are the parallelism, so libraries of linear algebra get one thread.
read -ra gsr <<<"${GSR_COMMAND:-python -m gsr.islands}"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

# 4. How srun meets the MPI library: pmix for Open MPI, pmi2 for MPICH and Intel MPI. The program's own Python is asked which it
# is, unless GSR_MPI is set. `srun --mpi=list` shows what there is.
mpi_library() {
  local python=(python)
  if [[ ${gsr[*]} == *" -m gsr.islands" ]]; then python=("${gsr[@]:0:${#gsr[@]}-2}"); fi
  timeout 60 "${python[@]}" -c 'import mpi4py; mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version())' 2>/dev/null | tr -d '\0'
}
if [[ -z ${GSR_MPI:-} && -n ${SLURM_JOB_ID:-} ]]; then
  case $(mpi_library) in *"Open MPI"*) GSR_MPI=pmix ;; esac
fi
GSR_MPI=${GSR_MPI:-pmi2}
srun=(srun --mpi="$GSR_MPI" --kill-on-bad-exit=1)
mpirun=("${GSR_MPIRUN:-mpirun}" -n "${SLURM_NTASKS:-${GSR_RANKS:-1}}")
# What starts the ranks of long_run.sbatch and array.sbatch; ("${mpirun[@]}") where srun does not know your MPI.
launch=("${srun[@]}")

# 5. Account and partition are read by sbatch before the job starts, so they cannot stand here. Put them into your ~/.bashrc:
# export SBATCH_ACCOUNT=... SBATCH_PARTITION=...

# 6. Long runs: seconds that all ranks have to write a checkpoint before the job is requeued, and seconds that a run must have
# lasted to be started again after a break-down (a lost node). What breaks earlier than that would break again.
GSR_SAVE_SECONDS=${GSR_SAVE_SECONDS:-20}
GSR_RETRY_SECONDS=${GSR_RETRY_SECONDS:-300}
# srun does not take this from sbatch any more.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
