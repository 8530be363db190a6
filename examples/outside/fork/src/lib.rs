pub fn forked() {}
