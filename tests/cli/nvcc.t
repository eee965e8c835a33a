#!/usr/bin/perl
# nvcc.t -- the CUDA plugin as a part of make: what stands in its way is told, and stops nothing
#
# nvcc and nvidia-smi are scripts of this test: the first writes files where nvcc would.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

chdir $TOP or die;
plan skip_all => 'another binary is tested' if $ENV{DLREPL};
delete @ENV{qw(NVCC ARCHS CUDA MAKEFLAGS MFLAGS MAKELEVEL)};
$ENV{DLREPL_NO_INSTALL} = 1;

# A script that answers as nvcc of VERSION with these ARCHITECTURES; `does` is how it compiles.
sub fake_nvcc {
    my ($name, %o) = @_;
    my $archs = join '', map { "sm_$_\\n" } @{$o{archs} // [50, 75, 80, 86, 87, 90, 100, 120]};
    my $does = $o{does}
        // 'while [ $# -gt 0 ]; do case $1 in -o | -MF) : >"$2" ;; esac; shift; done';
    my $path = write_file($name, <<"SH");
#!/bin/sh
case "\$*" in
  *--version*) echo "Cuda compilation tools, release $o{version}, V$o{version}.1"; exit ;;
  *--list-gpu-code*) printf '$archs'; exit ;;
esac
echo "\$*" >>"$TMP/$name.log"
$does
SH
    chmod 0755, $path;
    return $path;
}
# With which options for architectures it was called.
sub log_of {
    open my $in, '<', "$TMP/$_[0].log" or return '';
    my %seen;
    return join "\n", grep { !$seen{$_}++ } map { /(-gencode.*?) -Xptxas/ } <$in>;
}
my @own = ("CUDA_DIR=$TMP/cuda", "PLUGIN=$TMP/dl_cuda.so");
sub make { return run({seconds => 900}, 'make', '--no-print-directory', @own, @_); }

# `make` with this nvcc ends well, and in one line that has this text; `make cuda` fails with it.
sub no_plugin {
    my ($text, $name, @vars) = @_;
    my $r = make('plugin', @vars);
    is("$r->{status} $r->{err}", '0 ', "$name: make ends well");
    has_text($r->{out}, qr/^No CUDA plugin: [^\n]*\Q$text\E[^\n]*\n\z/,
        '... and says it in a line');
    $r = make('cuda', @vars);
    is($r->{status}, 2, '... where make cuda fails');
    has_text($r->{err}, $text, '... with the same words');
}

# ---- what stands in the way --------------------------------------------------------------------
is(make('CUDA=0')->{status}, 0, 'the program is there');
has_text(make('CUDA=0')->{out}, qr/^make: [^\n]*\n\z/,
    'CUDA=0 leaves the plugin out, without a word');
has_text(make('NVCC=')->{out}, qr/^make: [^\n]*\n\z/, '... and so does an empty NVCC');
no_plugin('/none/nvcc does not run', 'no nvcc at that place', 'NVCC=/none/nvcc');
my $old = fake_nvcc('nvcc11', version => '11.8');
has_text(make("NVCC=$old")->{out}, qr/^No CUDA plugin: [^\n]*\n\z/, 'an nvcc of no use is told');
no_plugin('nvcc here is of CUDA 11.8, and 12 or 13 is needed', 'Debian 12\'s own', "NVCC=$old");
my $error = 'echo "#error -- unsupported GNU version! gcc versions later than 12" >&2; exit 1';
no_plugin('does not take this C++ compiler: make NVCC=\'nvcc -ccbin g++-12\'', 'a newer g++',
    'NVCC=' . fake_nvcc('nvcc12', version => '12.0', does => $error));
$error = 'echo "gcc: fatal error: cannot execute \'cc1plus\': execvp: No such file" >&2; exit 1';
no_plugin('finds no C++ compiler', 'no g++',
    'NVCC=' . fake_nvcc('nocxx', version => '12.0', does => $error));
no_plugin('this nvcc has no architecture 91', 'an architecture that is none', 'ARCHS=90 91',
    'NVCC=' . fake_nvcc('noarch', version => '13.0'));

$error = 'case "$*" in *reduce.cu*) echo "reduce.cu(1): error: of a test" >&2; exit 1 ;; esac';
my $fails = fake_nvcc('fails', version => '13.0', does => $error);
write_file('dl_cuda.so', 'an old one');
my $r = make('plugin', "NVCC=$fails");
is($r->{status}, 0, 'a kernel that does not compile does not stop make');
has_text($r->{out}, qr/error: of a test\n.*^No CUDA plugin: nvcc failed/ms, '... which shows why');
ok(!-e "$TMP/dl_cuda.so", '... and leaves no plugin of other sources');
is(make('cuda', "NVCC=$fails")->{status}, 2, '... but it stops make cuda');

# ---- what is built -----------------------------------------------------------------------------
my $good = fake_nvcc('good', version => '13.0');
$r = make('plugin', "NVCC=$good");
is($r->{status}, 0, 'with an nvcc that works the plugin is built') or diag($r->{out} . $r->{err});
ok(-e "$TMP/dl_cuda.so", '... at its place');
has_text($r->{out}, 'nvcc kernels/cuda/shape.cu (75 80 86 90 100 120)',
    '... for every architecture of ours that this nvcc has');
has_text(log_of('good'), "-gencode arch=compute_75,code=[sm_75] -gencode arch=compute_80,"
    . 'code=[sm_80,sm_86,sm_90] -gencode arch=compute_100,code=[sm_100,sm_120,compute_100]',
    '... and PTX for others');
unlike($r->{out}, qr/-gencode|[^\n]{100}/, '... in short lines');
is(make('plugin', "NVCC=$good")->{out}, '', 'make again does nothing');
is(make('-q', 'plugin', "NVCC=$good")->{status}, 0, 'make -q agrees');
is(make("NVCC=$good")->{out}, '', '... with the program, which is up to date');
$r = make('plugin', "NVCC=$good", 'ARCHS=90');
has_text($r->{out}, 'shape.cu (90)', 'ARCHS=90 builds for one');
has_text(log_of('good'), 'arch=compute_90,code=[sm_90,compute_90]', '... and its PTX');

# ---- make start --------------------------------------------------------------------------------
unlink "$TMP/dl_cuda.so";
mkdir "$TMP/bin";
sub start {
    my ($cards, @vars) = @_;
    my $smi = "case \$1 in -L) echo 'GPU 0: a test' ;; *) printf '$cards' ;; esac";
    write_file('bin/nvidia-smi', "#!/bin/sh\n" . ($cards eq '' ? 'exit 9' : $smi) . "\n");
    chmod 0755, "$TMP/bin/nvidia-smi";
    local $ENV{PATH} = "$TMP/bin:$ENV{PATH}";
    my $r = make('start', "NVCC=$good", @vars);
    is($r->{status}, 0, 'make start reaches the tour') or diag($r->{out} . $r->{err});
    ($r->{first}) = $r->{out} =~ /\A(.*?)(?=^[^\n]*\b1\. Tensors|\z)/ms;
    return $r;
}
SKIP: {
    skip 'an NVIDIA GPU is here', 1 if glob '/proc/driver/nvidia/gpus/*';
    $r = start('');
    unlike($r->{first}, qr/CUDA/, '... where no GPU is, without a word of a plugin');
    ok(!-e "$TMP/dl_cuda.so", '... and without one');
}
$r = start('9.0\n8.6\n9.0\n');
has_text($r->{first}, 'Building the CUDA plugin for the GPU here (sm_86, sm_90;',
    '... where cards are, with the plugin for those');
ok(-e "$TMP/dl_cuda.so", '... which is there');
unlike(start('9.0\n')->{first}, qr/CUDA/, '... and is kept for fewer of them');
unlink "$TMP/dl_cuda.so";
unlike(start('8.9\n')->{first}, qr/No CUDA/,
    '... a card that nvcc does not know takes what is before it');
has_text(log_of('good'), 'arch=compute_86,code=[sm_86,compute_86]', '... as the nearest');
unlink "$TMP/dl_cuda.so";
has_text(start('[N/A]\n')->{first}, qr/^An NVIDIA GPU is here, but not one [^\n]*make ARCHS=90/,
    '... a card that nvidia-smi cannot tell is named');
has_text(start('7.0\n')->{first}, qr/^An NVIDIA GPU is here, but not one/, '... and one too old');
has_text(start('9.0\n', "NVCC=$old")->{first}, qr/^An NVIDIA GPU is here, but no CUDA plugin: nvcc/,
    '... and an nvcc that is too old');
unlike(start('9.0\n', 'CUDA=0')->{first}, qr/CUDA/, '... and CUDA=0 leaves it out');
done_testing();
