console.log(CORDON_VERSION)
declare const CORDON_VERSION: string
