"""Samples that libEnsemble's manager gives to the workers, which are all ranks but the first."""

import numpy as np
from libensemble import Ensemble
from libensemble.gen_funcs.sampling import latin_hypercube_sample
from libensemble.sim_funcs.simple_sim import norm_eval
from libensemble.specs import ExitCriteria, GenSpecs, LibeSpecs, SimSpecs

SAMPLES = 100

bounds = {"gen_batch_size": SAMPLES // 2, "lb": np.array([-3.0, -2.0]), "ub": np.array([3.0, 2.0])}
ensemble = Ensemble(parse_args=False)
ensemble.libE_specs = LibeSpecs(comms="mpi", disable_log_files=True)
ensemble.sim_specs = SimSpecs(sim_f=norm_eval, inputs=["x"], outputs=[("f", float)])
ensemble.gen_specs = GenSpecs(gen_f=latin_hypercube_sample, outputs=[("x", float, (2,))], user=bounds)
ensemble.exit_criteria = ExitCriteria(sim_max=SAMPLES)
ensemble.add_random_streams()
history, _, flag = ensemble.run()
if ensemble.is_manager:
    ended = history[history["sim_ended"]]
    assert flag == 0 and np.allclose(np.linalg.norm(ended["x"], axis=1), ended["f"])
    print("samples", len(ended), "workers", len(set(ended["sim_worker"])), flush=True)
