import { type KernelReport, probeKernel } from '@cordon/sandbox'

/** What `cordon doctor` says (SPEC 4.7): found by trying, not by asking for versions. */
export type Diagnosis = KernelReport

export const diagnose = (): Diagnosis => probeKernel()
